drop table fixes;
