// Longhaul
