drop table freezes;
