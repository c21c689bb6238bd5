#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a Debian package of this tree: a virtual environment in /opt/gigastream, the service, and
# its configuration. `make deb` calls it: build.sh [FOLDER for the package].
set -eu
cd "$(dirname "$0")/../.."
umask 022

tree=$PWD
out=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
# Debian's own: what is installed runs with it, whichever Python make was called with.
python=/usr/bin/python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
home=$root/opt/gigastream

need() { # command, package that has it
    command -v "$1" >/dev/null || { echo "$1 is missing: apt install $2" >&2; exit 1; }
}

need dpkg-deb dpkg
need gcc gcc
need "$python" python3
"$python" -c 'import ensurepip, venv' 2>/dev/null || need ensurepip python3-venv

# A copy is built: what earlier builds have left in the tree must not get into the package.
mkdir "$work/source"
cp -r gigastream spark_sink csrc configs setup.py pyproject.toml pyspark_gigastream.py \
    README.md LICENSE CHANGELOG.md "$work/source"
find "$work/source" \( -name '*.so' -o -name __pycache__ \) -prune -exec rm -rf {} +

"$python" -m venv "$home"
"$home/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
    "$work/source[daemon]"
"$home/bin/python" -m pip uninstall --quiet --yes --disable-pip-version-check pip setuptools
rm -rf "$home"/bin/[Aa]ctivate* "$home/include" "$home"/lib/python3*/site-packages/pyarrow/include
find "$home" -name __pycache__ -prune -exec rm -rf {} +

# The environment is used at /opt/gigastream, and was made elsewhere.
grep -rlI --exclude-dir=site-packages "$root" "$home" | xargs -r sed -i "s|$root||g"
if grep -rlI "$root" "$home"; then
    echo "these files name the folder of the build" >&2
    exit 1
fi
# Who runs it may not write here, and would compile each module at every start.
"$home/bin/python" -m compileall -q -s "$root" -p / "$home/lib" >/dev/null

mkdir -p "$root/usr/bin" "$root/lib/systemd/system" "$root/etc/gigastream" "$root/DEBIAN" \
    "$root/usr/lib/sysusers.d" "$root/usr/share/doc/gigastream"
ln -s /opt/gigastream/bin/gigastream "$root/usr/bin/gigastream"
install -m 644 configs/gigastream.service "$root/lib/systemd/system/gigastream.service"
install -m 644 configs/gigastream.sysusers "$root/usr/lib/sysusers.d/gigastream.conf"
install -m 644 packaging/deb/gigastream.toml "$root/etc/gigastream/gigastream.toml"
install -m 644 LICENSE "$root/usr/share/doc/gigastream/copyright"
cp -r docs "$root/usr/share/doc/gigastream/docs"
for script in postinst prerm postrm; do
    install -m 755 "packaging/deb/$script" "$root/DEBIAN/$script"
done
echo /etc/gigastream/gigastream.toml >"$root/DEBIAN/conffiles"

version=$(cd "$tree" && "$python" -c 'import runpy
print(runpy.run_path("gigastream/version.py")["__version__"])')
next=$("$python" -c 'import sys; print(f"3.{sys.version_info.minor + 1}")')
this=$("$python" -c 'import sys; print(f"3.{sys.version_info.minor}")')
arch=$(dpkg --print-architecture)
cat >"$root/DEBIAN/control" <<END
Package: gigastream
Version: $version
Architecture: $arch
Maintainer: Gigastream <gigastream@localhost>
Section: net
Priority: optional
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: python3 (>= $this), python3 (<< $next~), gcc, libc6-dev, adduser
Recommends: libpcap0.8
Description: SQL questions about network traffic, answered while the packets go by
 A daemon captures links and answers queries over them: into files, spools and
 tables. Queries are compiled by gcc when they are added.
END
package=$out/gigastream_${version}_$arch.deb
dpkg-deb --build --root-owner-group -Zzstd "$root" "$package" >/dev/null
echo "$package"
