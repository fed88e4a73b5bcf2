#!/bin/sh
u= at=0
while [ $# -gt 0 ]; do case $1 in -u) u=$2; shift;; --after-cursor=*) at=${1#*=};; esac; shift; done
f=/run/sim/$u.log; [ -e "$f" ] || exit 0
n=$(stat -c %s "$f")
tail -c +$((at+1)) "$f" | head -c $((n-at))
echo "-- cursor: $n"
