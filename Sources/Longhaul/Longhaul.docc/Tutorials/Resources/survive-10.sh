.build/debug/keep
