drop table analysis_feedback;
drop table analyses;
