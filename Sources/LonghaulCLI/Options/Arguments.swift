public import ArgumentParser
public import Longhaul

// Values that are parsed from their own text form.

extension TransferID: ExpressibleByArgument {
    public init?(argument: String) {
        self.init(argument)
    }
}

extension TransferState: ExpressibleByArgument {}

extension ExistingFilePolicy: ExpressibleByArgument {}
extension DuplicatePolicy: ExpressibleByArgument {}
