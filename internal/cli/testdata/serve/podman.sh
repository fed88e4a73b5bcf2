#!/bin/sh
# A stand-in for podman: a container is a process, its image the stand-in engine.
R=/run/sim/pod; mkdir -p $R
cmd=$1; shift
case $cmd in
image) echo "sha256:aa|amd64|x@sha256:11 "; exit 0;;
images) echo '[]'; exit 0;;
run)
	n= ; e=; env=
	while [ $# -gt 0 ]; do case $1 in
		--name) n=$2; shift 2;;
		--entrypoint) e=$2; shift 2;;
		--env-file) env="$env $2"; shift 2;;
		-v|--device|--group-add|--security-opt) shift 2;;
		-*) shift;;
		*) break;;
	esac; done
	shift # the image
	[ ! -e $R/$n.pid ] || { echo "Error: the container name \"$n\" is already in use" >&2; exit 125; }
	{ for f in $env; do grep -v '^#' $f; done; } >$R/$n.env
	: >$R/$n.log
	setsid sh -c 'n=$1; R=$2; e=$3; shift 3; while IFS= read -r v; do export "$v"; done <$R/$n.env; /opt/standin/$e "$@" >>$R/$n.log 2>&1; echo $? >$R/$n.exit' sh $n $R $e "$@" >/dev/null 2>&1 </dev/null &
	echo $! >$R/$n.pid; echo $n; exit 0;;
exec)
	d=; [ "$1" != -d ] || { d=1; shift; }
	more=; while [ "$1" = -e ]; do more="$more $2"; shift 2; done
	n=$1; shift
	[ -e $R/$n.pid ] || { echo "Error: no such container $n" >&2; exit 125; }
	while IFS= read -r v; do export "$v"; done <$R/$n.env
	for v in $more; do export "$v"; done
	PATH=/opt/standin:$PATH
	# inside, the first process's output is the container's log, and /tmp its own
	set -- "$@"; a=; for x in "$@"; do x=$(printf %s "$x" | sed "s#/proc/1/fd/1#$R/$n.log#; s#>$R/$n.log#>>$R/$n.log#; s#/tmp/weft-engine#$R/$n.engine#g"); a="$a '$(printf %s "$x" | sed "s/'/'\\\\''/g")'"; done
	if [ -n "$d" ]; then eval "setsid $a >/dev/null 2>&1 </dev/null &"; exit 0; fi
	eval "$a"; exit $?;;
stop)
	while [ "$1" = -t ]; do shift 2; done; n=$1
	for f in $R/$n.engine.pid $R/$n.pid; do [ ! -e $f ] || kill $(cat $f) 2>/dev/null; done
	pkill -s "$(cat $R/$n.pid)" 2>/dev/null; sleep 0.3; exit 0;;
container)
	n=$4; [ -e $R/$n.pid ] || { echo "Error: no such container $n" >&2; exit 125; }
	if [ -e $R/$n.exit ]; then e=$(cat $R/$n.exit); [ $e -eq 0 ] && echo ActiveState=inactive || echo ActiveState=failed; echo ExecMainStatus=$e; else echo ActiveState=active; fi; exit 0;;
logs) cat $R/$1.log; exit 0;;
rm) for n in "$@"; do case $n in -*) ;; *) rm -f $R/$n.*;; esac; done; exit 0;;
*) exit 0;;
esac
