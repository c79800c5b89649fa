drop table deployment_traces;
