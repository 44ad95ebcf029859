import ArgumentParser
struct Get: ParsableCommand {}
struct Enqueue: ParsableCommand {}
struct Wait: ParsableCommand {}
struct SetCommand: ParsableCommand {}
