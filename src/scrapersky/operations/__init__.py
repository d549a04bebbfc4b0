"""Operations: stages, workers and dead letters, for those who keep it running."""
