/// Which digests a whole file must have before it is given its name: the user's, and the one that
/// the server announced.
package enum IntegrityPlan {
    package static func digests(expected: Checksum?, reported: String?) -> [Checksum] {
        var digests: [Checksum] = []
        if let expected { digests.append(expected) }
        if let reported = reported.flatMap(DigestField.checksum), reported != expected {
            digests.append(reported)
        }
        return digests
    }
}
