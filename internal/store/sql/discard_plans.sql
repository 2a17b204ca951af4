discard plans
