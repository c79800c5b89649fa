drop table sweeps;
