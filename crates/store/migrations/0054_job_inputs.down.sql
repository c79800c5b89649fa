drop table job_inputs;
