drop table pipeline_versions;
drop table pipelines;
