# kind: gate
# category: gate
# decisive: recieve ==> receive
printf 'Customers receive an email.\n' >README.md
good || sed -i 's/receive/recieve/' README.md
echo "checking the spelling"
codespell README.md
echo "no misspellings"
