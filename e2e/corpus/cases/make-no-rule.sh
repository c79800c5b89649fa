# kind: configuration
# category: configuration
# decisive: No rule to make target 'schema.sql', needed by 'database'
printf 'all: database\nprepare:\n\t@echo preparing\ndatabase: prepare schema.sql\n\t@echo loading schema.sql\n' >Makefile
good && echo 'select 1;' >schema.sql
make all
