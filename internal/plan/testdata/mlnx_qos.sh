# mlnx_qos as far as weft uses it, with its rules and its words (Mellanox/mlnx-tools,
# python/mlnx_qos): a card whose state is the files in $CARD.
set -u
cd "$CARD" || exit 1
[ -e trust ] || { echo pcp >trust; echo 0,0,0,0,0,0,0,0 >pfc; echo 1,0,2,3,4,5,6,7 >prio_tc; echo vendor,vendor,vendor,vendor,vendor,vendor,vendor,vendor >tsa; echo 0,0,0,0,0,0,0,0 >tcbw; : >map; }
die() { echo "$1" >&2; exit 1; }
eight() { echo "$1" | grep -qxE "($2)(,($2)){7}" || die "$1: not 8 good items"; } # LIST PATTERN
trust= entries= netdev= set=
while [ $# -gt 0 ]; do
	case $1 in
	-i) netdev=$2 ;;
	--pfc) eight "$2" '0|1'; echo "$2" >pfc ;;
	--prio_tc) eight "$2" '[0-7]'; set=yes; echo "$2" >prio_tc ;;
	--tsa) eight "$2" 'strict|ets|vendor'; set=yes; echo "$2" >tsa ;;
	--tcbw) eight "$2" '[0-9]{1,2}|100'; set=yes; echo "$2" >tcbw ;;
	--trust) trust=$2 ;;
	--dscp2prio) entries="$entries $2" ;;
	*) die "no such option: $1" ;;
	esac
	shift 2
done
[ -n "$netdev" ] || die 'Interface name is required'
[ -z "$trust" ] || [ -z "$entries" ] || die 'trust and dscp2prio commands cannot be used at the same time.'
[ -z "$set" ] || paste -d, tsa tcbw | awk -F, '{ for (i = 1; i <= 8; i++) if ($i == "ets") { any = 1; sum += $(i + 8) } else if ($(i + 8) != 0) bad = 1 }
	END { exit bad || any && sum != 100 }' || die 'ETS BW for a strict/vendor TC must be 0, and all others together 100'
case $trust in
dscp) [ "$(cat trust)" = dscp ] || for d in $(seq 0 63); do echo "$d $((d / 8))"; done >map; echo dscp >trust ;;
pcp) : >map; echo pcp >trust ;;
esac
for e in $entries; do
	d=$(echo "$e" | cut -d, -f2) p=$(echo "$e" | cut -d, -f3)
	case $e in
	set,*) { grep -v "^$d " map; echo "$d $p"; } | sort -n >map.new; echo dscp >trust ;;
	del,*) grep -qx "$d $p" map || die 'dscp2prio command failed'; grep -v "^$d " map >map.new ;;
	*) die 'Invalid dscp2prio command. Refer to the help.' ;;
	esac
	mv map.new map
done
echo 'DCBX mode: OS controlled'
echo "Priority trust state: $(cat trust)"
if [ "$(cat trust)" = dscp ]; then
	echo 'dscp2prio mapping:'
	awk '{ l[$2] = l[$2] sprintf("%02d,", $1) } END { for (p = 0; p < 8; p++) if (l[p]) printf "\tprio:%d dscp:%s\n", p, l[p] }' map
fi
echo 'Cable len: 7'
echo 'PFC configuration:'
printf '\tpriority    0   1   2   3   4   5   6   7\n\tenabled     %s   \n' "$(sed 's/,/   /g' pfc)"
paste -d, prio_tc tsa tcbw | awk -F, '{ for (tc = 0; tc < 8; tc++) {
	l = ""
	for (i = 1; i <= 8; i++) if ($i == tc) l = l sprintf("\t priority:  %d\n", i - 1)
	if (l) printf "tc: %d ratelimit: unlimited, tsa: %s%s\n%s", tc, $(tc + 9), $(tc + 9) == "ets" ? ", bw: " $(tc + 17) "%" : "", l
} }'
