drop table discarded_objects;
drop table caches;
