swift build
