drop table deployments;
drop table sessions;
drop table environments;
