"""Operations: stages, workers and dead letters, for operators."""
