# The demo's ground: a small project with one commit in `shop`, and a task for each worker beside it. The
# lines of a task that begin with "run: " are what the built-in agent does.
set -e
git init --quiet --template= --object-format=sha1 --initial-branch=main shop
cd shop
git config user.name 'Demo'
git config user.email 'demo@git-skein.invalid'
git config core.excludesFile /dev/null
git config core.attributesFile /dev/null
printf '%s\n' 'tea 3' 'coffee 4' 'cake 5' >prices.txt
cat >check.sh <<'EOF'
# Every line of the price list ends with a number.
! grep -v ' [0-9][0-9]*$' prices.txt
EOF
git add --all
git commit --quiet --message 'A shop with a price list'

mkdir ../tasks
cd ../tasks
cat >menu.txt <<'EOF'
Write a menu
run: sed 's/ [0-9]*$//' prices.txt >menu.txt
run: git add menu.txt && git commit --quiet --message 'Add a menu'
run: sleep 1
EOF
cat >dearer.txt <<'EOF'
Raise the price of tea
run: sed 's/^tea 3$/tea 4/' prices.txt >new && mv new prices.txt
run: git commit --quiet --all --message 'Tea costs 4'
run: sleep 1
EOF
cat >cheaper.txt <<'EOF'
Lower the price of tea
run: sed 's/^tea 3$/tea 2/' prices.txt >new && mv new prices.txt
run: git commit --quiet --all --message 'Tea costs 2'
run: sleep 1
EOF
cat >regret.txt <<'EOF'
Try an idea, then throw it away
run: echo 'the tenth cup is free' >idea.txt
run: for i in $(seq 40); do git for-each-ref | grep --quiet "wip/$SKEIN_WORKER" && break; sleep 0.1; done
run: git add --all && git reset --quiet --hard
EOF
