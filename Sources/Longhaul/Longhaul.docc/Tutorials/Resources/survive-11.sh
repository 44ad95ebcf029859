ls -l big.iso
