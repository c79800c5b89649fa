drop table forges;
