import ArgumentParser
import Longhaul

/// The changes by `set` of the route to a server and of the credentials there.
struct IdentityChangeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("User and password, or none.", valueName: "u:p"))
    var user: String?

    @Flag(inversion: .prefixedNo, help: "Whether ~/.netrc is looked into for them.")
    var netrc: Bool?

    @Option(help: ArgumentHelp("Go through this proxy, or none of its own.", valueName: "url"))
    var proxy: String?

    @Option(
        help: ArgumentHelp("Trust the certificates in this file, or none.", valueName: "file"),
        completion: .file())
    var cacert: String?

    @Option(
        help: ArgumentHelp("The client certificate to show, or none.", valueName: "file"),
        completion: .file())
    var cert: String?

    @Option(
        help: ArgumentHelp("Its private key (alone, SFTP's), or none.", valueName: "file"),
        completion: .file())
    var key: String?

    @Flag(
        inversion: .prefixedNo, help: "Whether any server's certificate is taken, unverified.")
    var insecure: Bool?

    func apply(
        to change: inout TransferChange, _ context: InputContext
    ) throws(LonghaulError) {
        if let user { change.user = user == "none" ? .some(nil) : user }
        change.usesNetrc = netrc
        if let proxy {
            change.proxy = proxy == "none" ? .some(nil) : try OptionText.proxy(proxy, "--proxy")
        }
        func file(_ path: String?) throws(LonghaulError) -> String?? {
            guard let path else { return nil }
            return .some(path == "none" ? nil : try context.absolute(path))
        }
        change.caCertificate = try file(cacert)
        change.clientCertificate = try file(cert)
        change.clientKey = try file(key)
        change.isInsecure = insecure
    }
}
