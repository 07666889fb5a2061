# Root may do everything: it has to become somebody else first, if that one can run the command.
if [[ $(id -u) == 0 ]]; then
	script=$CLI_DIR/no_permission_exits_3.sh
	nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	# shellcheck disable=SC2016 # expanded by that bash
	"${nobody[@]}" bash -c '[[ -r $0 ]] && exec "$NIDUS" --version' "$script" >version || exit 77
	chown 65534 .
	exec "${nobody[@]}" bash "$script"
fi
mkdir locked
echo heron | "$NIDUS" build -n 10 -o s.nidus || exit 9
cp s.nidus locked/s.nidus
chmod a-r s.nidus
chmod a-w locked
"$NIDUS" info s.nidus 2>err; echo "code $?"
cat err
echo crane | "$NIDUS" add locked/s.nidus 2>err; echo "code $?"
sed 's/tmp-[0-9a-f]*/tmp-.../' err
echo crane | "$NIDUS" build -o locked/t.nidus 2>err; echo "code $?"
ls locked
