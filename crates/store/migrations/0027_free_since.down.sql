alter table environments drop column free_since;
