mkdir -p keep/Sources/keep
cd keep
