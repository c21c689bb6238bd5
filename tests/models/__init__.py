# SPDX-License-Identifier: Apache-2.0
"""Small models of time, of the LFTA and of the operators, followed packet by packet.

They state what an implementation must equal after every step; README.md lists what was decided
where the contract leaves a choice.
"""
