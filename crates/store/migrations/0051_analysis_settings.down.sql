drop table model_calls, model_budgets, analysis_settings;
