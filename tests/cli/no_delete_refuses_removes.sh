# A set made with --no-delete is smaller as a breadcrumb set and lets no key go.
seq 1 100000 >keys
"$NIDUS" build -f breadcrumb --seed 7 -o any.nidus keys || exit 9
"$NIDUS" build -f breadcrumb --no-delete --seed 7 -o kept.nidus keys || exit 9
[ "$(wc -c <kept.nidus)" -lt "$(wc -c <any.nidus)" ] && echo smaller
cp kept.nidus before
echo 5 | "$NIDUS" remove kept.nidus 2>err
echo "remove $? $(grep -c "nothing can be removed: the filter was made with NIDUS_NO_DELETE" err)"
cmp kept.nidus before
"$NIDUS" query -c kept.nidus <keys
"$NIDUS" info kept.nidus | grep -c delete
"$NIDUS" plan -n 1M --no-delete --delete 2>err
echo "plan $? $(grep -c "contradict each other" err)"
