.build/debug/keep https://example.com/small.iso small.iso
