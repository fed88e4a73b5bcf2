#!/bin/sh
# A stand-in for systemd: one service a unit file, started again three times.
R=/run/sim; mkdir -p $R
cmd=$1; shift
case $cmd in
daemon-reload|reset-failed) [ "$cmd" = daemon-reload ] || rm -f $R/*.failed; exit 0;;
show)
	case "$*" in *MainPID*) for u in "$@"; do :; done; cat "$R/${u%.service}.service.pid"; exit 0;; esac
	shift 1; for u in "$@"; do case $u in *.service) break;; esac; done
	f=/etc/systemd/system/$u
	[ -e "$f" ] && echo LoadState=loaded || echo LoadState=not-found
	st=inactive; [ ! -e "$R/$u.state" ] || st=$(cat "$R/$u.state")
	echo "ActiveState=$st"; echo "SubState=$st"; echo "NRestarts=$(cat "$R/$u.restarts" 2>/dev/null || echo 0)"; echo "ExecMainStatus=$(cat "$R/$u.exit" 2>/dev/null || echo 0)"
	p=$(cat "$R/$u.pid" 2>/dev/null); c=0
	[ -z "$p" ] || c=$(awk '{print ($14+$15)*10000000}' /proc/$p/stat 2>/dev/null || echo 0)
	echo "CPUUsageNSec=${c:-0}"; exit 0;;
start)
	[ "$1" != --no-block ] || shift
	u=$1; f=/etc/systemd/system/$u; [ -e "$f" ] || { echo "Unit $u not found." >&2; exit 5; }
	echo activating >"$R/$u.state"; : >>"$R/$u.log"; echo 0 >"$R/$u.restarts"
	setsid sh -c '
		u=$1; R=$2; f=/etc/systemd/system/$u
		set -a; for e in $(sed -n "s/^EnvironmentFile=//p" "$f"); do eval "$(sed "s/\\\\\\$/\\$/g" "$e")"; done; for v in $(sed -n "s/^Environment=//p" "$f"); do eval "$v"; done; set +a
		n=0
		while :; do
			line=$(sed -n "s/^ExecStart=//p" "$f" | sed "s/\\$\\$/\$/g; s/%%/%/g")
			eval "exec_line() { exec $line; }"
			( exec_line ) >>"$R/$u.log" 2>&1 </dev/null &
			p=$!; echo $p >"$R/$u.pid"; echo active >"$R/$u.state"
			trap "touch $R/$u.stop; kill $p 2>/dev/null" TERM
			wait $p; e=$?; [ -e "$R/$u.stop" ] && { wait $p; rm -f "$R/$u.stop"; echo inactive >"$R/$u.state"; break; }
			echo $e >"$R/$u.exit"
			[ $e -ne 0 ] || { echo inactive >"$R/$u.state"; break; }
			n=$((n+1)); [ $n -lt 3 ] || { echo failed >"$R/$u.state"; echo "$u: Start request repeated too quickly." >>"$R/$u.log"; break; }
			echo $n >"$R/$u.restarts"; echo activating >"$R/$u.state"; sleep 1
			[ ! -e "$R/$u.stop" ] || { rm -f "$R/$u.stop"; echo inactive >"$R/$u.state"; break; }
		done; rm -f "$R/$u.pid" "$R/$u.super"' sh "$u" "$R" >/dev/null 2>&1 </dev/null &
	echo $! >"$R/$u.super"; exit 0;;
stop)
	u=$1; s=$(cat "$R/$u.super" 2>/dev/null); [ -n "$s" ] || { echo inactive >"$R/$u.state"; exit 0; }
	kill -TERM "$s" 2>/dev/null
	i=0; while [ -e "$R/$u.super" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; exit 0;;
is-failed) for u in "$@"; do :; done; [ "$(cat "$R/${u%.service}.service.state" 2>/dev/null)" = failed ]; exit $?;;
is-active) for u in "$@"; do :; done; [ "$(cat "$R/${u%.service}.service.state" 2>/dev/null)" = active ]; exit $?;;
*) exit 0;;
esac
