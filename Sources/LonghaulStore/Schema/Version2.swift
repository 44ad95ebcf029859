/// Version 2: all tasks are read at once, and only one index is left, which keeps a second pending
/// request out. `task.readyAt` is written as `dueAt` and not read.
enum Version2 {
    static let statements = [
        "taskByIdentifier", "taskReady", "taskWaives", "taskExpires", "taskPutOff", "taskStanding",
        "taskAwaits", "taskDeferred", "taskSimulated", "taskByLaunch", "taskWindow",
    ].map { "DROP INDEX \($0)" }
}
