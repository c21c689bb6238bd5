#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records demo/demo.pcap: real clients and servers in two network namespaces, about 2.5 minutes.
# Needs root and: iproute2, tcpdump, curl, python3, dnsmasq, dig, ping, iperf3.
set -eu
here=$(dirname "$0")
out=${1:-$here/demo.pcap}
seconds=${2:-150}
snap_length=96
work=$(mktemp -d)
office=gigastream-office
centre=gigastream-centre

cleanup() {
    jobs -p | xargs -r kill 2>/dev/null || true
    for name in "$office" "$centre"; do
        ip netns pids "$name" 2>/dev/null | xargs -r kill 2>/dev/null || true
    done
    wait 2>/dev/null || true
    ip netns delete "$office" 2>/dev/null || true
    ip netns delete "$centre" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

in_office() { ip netns exec "$office" "$@"; }
in_centre() { ip netns exec "$centre" "$@"; }

# One cable between the two; clients .11 to .14 at one end, servers .53, .80, .81 at the other,
# and VLAN 30 for the backup. No segmentation offload: packets are as they would be on a wire.
make_network() {
    ip netns add "$office"
    ip netns add "$centre"
    ip link add up0 netns "$office" type veth peer name down0 netns "$centre"
    for host in 11 12 13 14; do
        in_office ip address add "10.20.0.$host/24" dev up0
        in_office ip address add "2001:db8:20::$host/64" dev up0 nodad
    done
    for host in 53 80 81; do
        in_centre ip address add "10.20.0.$host/24" dev down0
        in_centre ip address add "2001:db8:20::$host/64" dev down0 nodad
    done
    in_office ip link set up0 gso_max_segs 1 up
    in_centre ip link set down0 gso_max_segs 1 up
    in_office ip link set lo up
    in_centre ip link set lo up
}

# The two ends of VLAN 30, over the same cable.
make_vlan() {
    in_office python3 "$here/vlan_port.py" up0 30 backup0 &
    in_centre python3 "$here/vlan_port.py" down0 30 backup0 &
    sleep 1
    in_office ip address add 10.30.0.11/24 dev backup0
    in_centre ip address add 10.30.0.81/24 dev backup0
    in_office ip link set backup0 up
    in_centre ip link set backup0 up
}

start_servers() {
    mkdir "$work/www"
    head -c 3000 /dev/urandom >"$work/www/index.html"
    head -c 24000 /dev/urandom >"$work/www/picture.png"
    head -c 150000 /dev/urandom >"$work/www/update.bin"
    in_centre python3 -m http.server --bind :: --directory "$work/www" 80 >/dev/null 2>&1 &
    in_centre dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts \
        --user=root --pid-file="$work/dnsmasq.pid" --local=/test/ \
        --host-record=www.example.test,10.20.0.80,2001:db8:20::80 \
        --host-record=files.example.test,10.20.0.81,2001:db8:20::81 &
    in_centre iperf3 --server --bind 10.30.0.81 >/dev/null 2>&1 &
    sleep 1
}

start_capture() {
    ip netns exec "$centre" tcpdump -i down0 -s "$snap_length" -U -w "$out" -Z root 2>"$work/tcpdump" &
    capture=$!
    sleep 1
}

ask() { in_office dig -b "$1" "@$2" +short +tries=1 "$3" "$4" >/dev/null || true; }
fetch() { in_office curl -s --interface "$1" "$2" ${3:+--limit-rate "$3"} -o /dev/null || true; }

every() { # every SECONDS COMMAND…: until the recording ends
    local pause=$1
    shift
    while sleep "$pause"; do "$@"; done
}

browse() { # .11 looks a name up, then fetches a page; .13 does so over IPv6 (browse6)
    ask 10.20.0.11 10.20.0.53 www.example.test A
    fetch 10.20.0.11 http://10.20.0.80/index.html
}

browse6() {
    ask 2001:db8:20::13 2001:db8:20::53 www.example.test AAAA
    fetch 2001:db8:20::13 'http://[2001:db8:20::80]/picture.png'
}

mistype() { # .14 asks for names that are not there, and for ports that nobody serves
    ask 10.20.0.14 10.20.0.53 "printer$RANDOM.example.test" A
    fetch 10.20.0.14 http://10.20.0.81:8080/
}

watch_links() {
    in_office ping -q -c 2 -i 0.5 -I 10.20.0.14 10.20.0.81 >/dev/null
    in_office ping -q -c 2 -i 0.5 -I 2001:db8:20::14 2001:db8:20::81 >/dev/null
}

make_traffic() {
    every 4 browse &
    every 11 browse6 &
    every 7 mistype &
    every 13 watch_links &
    # .12 downloads an update in the second minute, the backup runs in the third.
    (sleep 62 && fetch 10.20.0.12 http://10.20.0.81/update.bin 12k) &
    (sleep 105 && in_office iperf3 --client 10.30.0.81 --bind 10.30.0.11 \
        --udp --bitrate 64k --length 800 --time 20 >/dev/null) &
}

make_network
make_vlan
start_servers
start_capture
make_traffic
sleep "$seconds"
kill "$capture"
wait "$capture" || true
tail -n 3 "$work/tcpdump" >&2
ls -l "$out" >&2
