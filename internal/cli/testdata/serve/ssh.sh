#!/bin/sh
# A stand-in for ssh: a host is a mount namespace of this machine.
g=
while [ $# -gt 0 ]; do
	case $1 in
	-G) g=1; shift;;
	-o|-F) shift 2;;
	-O) exit 0;;
	--) shift; break;;
	-*) shift;;
	*) break;;
	esac
done
h=$1; shift
if [ -n "$g" ]; then printf 'user root\nhostname %s\nport 22\nproxycommand sim\n' "$h"; exit 0; fi
n=${h#vm}
[ -e "$SIM/$h.pid" ] || { echo "ssh: connect to host $h port 22: No route to host" >&2; exit 255; }
[ ! -e "$SIM/bin/boot" ] || exec nsenter -t "$(cat "$SIM/$h.pid")" -m -p -C -u env HOME=/srv/home SIM=/srv/sim PATH=/srv/sim/bin:/usr/bin:/bin:/usr/sbin:/sbin SSH_CONNECTION="10.99.0.9 1000 10.99.0.$n 22" sh -c "cd /; $*"
exec nsenter -t "$(cat "$SIM/$h.pid")" -m env SIM_HOST="$h" PATH="$SIM/bin:/usr/bin:/bin:/usr/sbin:/sbin" SSH_CONNECTION="10.99.0.9 1000 10.99.0.$n 22" sh -c "cd /; $*"
