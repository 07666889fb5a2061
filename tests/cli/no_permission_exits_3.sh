# Root may do everything, so that there is nothing to see as root.
[[ $(id -u) == 0 ]] && exit 77
mkdir locked
echo heron | "$NIDUS" build -o s.nidus || exit 9
cp s.nidus locked/s.nidus
chmod a-r s.nidus
chmod a-w locked
"$NIDUS" info s.nidus 2>err; echo "code $?"
grep -c '^nidus: s.nidus: Permission denied' err
echo crane | "$NIDUS" add locked/s.nidus 2>err; echo "code $?"
grep -c '^nidus: locked/s.nidus: Permission denied' err
echo crane | "$NIDUS" build -o locked/t.nidus 2>err; echo "code $?"
ls locked
