# kind: compiler
# category: compile
# decisive: PHP Parse error:
cat >index.php <<'END'
<?php
function greet(string $name): string {
    return "Hello, $name";
}
echo greet("tea"), "\n";
END
good || sed -i 's/"Hello, $name";/"Hello, $name"/' index.php
printf '<?php\nreturn ["debug" => false];\n' >config.php
for file in config.php index.php; do php -d display_errors=0 -d log_errors=1 -d error_log=/dev/stderr -l "$file"; done
php index.php
