# SPDX-License-Identifier: Apache-2.0
"""A copy of this system to install something into; for who is in a mount namespace of its own."""

COPIED = r"""
set -eu
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mkdir "$1/root/try"
chmod 755 "$1/root/try"
cp "$2" "$1/root/try/gigastream.deb"
cp "$3" "$1/root/try/demo.pcap"
# What others have left on this host.
rm -rf "$1/root/var/cache/gigastream" "$1/root/var/lib/gigastream" "$1/root/etc/gigastream"
"""
"""Shell: $1 is an empty folder, in which the copy is `root`; $2 the package, $3 a capture; both
are in its folder `try`."""
