.build/debug/keep https://example.com/big.iso big.iso &
