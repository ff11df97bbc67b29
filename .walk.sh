t() { echo "\$ $*"; local s=$SECONDS; "$@"; echo "[rc=$? after $((SECONDS-s)) s]"; }
t ./campaign systems init mycluster
t ./campaign systems check mycluster
t ./campaign doctor --system mycluster
t ./campaign systems check mycluster --account=physics
t ./campaign run --system mycluster --partition cpu --account physics --nodes 1 --nodes 2 --dry-run
(t ./campaign run --system mycluster > /tmp/first.txt 2>&1) &
for _ in $(seq 300); do grep -q "1/" /tmp/first.txt && break; sleep 1; done
t ./campaign cancel last
wait
cat /tmp/first.txt
t ./campaign run --system nope --dry-run
t ./campaign run --system mycluster --partition x --dry-run
t ./campaign run --system mycluster --nodes 9 --dry-run
