drop table signing_keys;
