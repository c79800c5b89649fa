# kind: gate
# category: gate
# decisive: code should be clang-formatted
printf 'int limit(int count) { return count <= 20; }\n' >limit.c
good || printf 'int limit( int count ){ return count<=20; }\n' >limit.c
echo "checking limit.c"
clang-format --dry-run --Werror limit.c
