# kind: test
# category: test
# decisive: Failed test 'reverses words'
mkdir -p t
cat >t/words.t <<'END'
use strict;
use warnings;
use Test::More tests => 2;
sub words { return join " ", reverse split / /, shift }
is(words("tea"), "tea", "keeps one word");
is(words("green tea"), "tea green", "reverses words");
END
good || sed -i 's/reverse split/split/' t/words.t
prove -v t
