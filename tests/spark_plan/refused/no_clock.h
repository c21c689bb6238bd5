// SPDX-License-Identifier: Apache-2.0
// Nothing is compiled: what cannot run is refused before.
