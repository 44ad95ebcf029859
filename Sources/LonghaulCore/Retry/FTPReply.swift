/// What FTP servers say in words only: 530 refuses a password and a client too many alike.
enum FTPReply {
    /// Whether a login was refused for want of room, and may do later as it is.
    static func tellsOfNoRoom(_ reply: String) -> Bool {
        let reply = reply.lowercased()
        // Too many wrong passwords are no crowd.
        if aboutPasswords.contains(where: { reply.contains($0) }) { return false }
        return reply.hasPrefix("421") || aboutRoom.contains { reply.contains($0) }
    }

    /// Of proftpd, pure-ftpd, vsftpd, FileZilla, IIS, wu-ftpd and their kin.
    private static let aboutRoom = [
        "too many", "maximum", "max number", "max clients", "limit reached", "limit exceeded",
        "already connected", "already logged in", "try again", "try later", "try back later",
        "server is full", "is busy", "temporarily",
    ]
    private static let aboutPasswords = [
        "fail", "attempt", "password", "incorrect", "invalid", "disabled", "banned", "blocked",
    ]

    /// Whether a file is refused because it was asked for from an offset: servers that take REST
    /// and then say no to RETR.
    static func refusesRestart(_ reply: String) -> Bool {
        reply.lowercased().contains("restart")
    }
}
