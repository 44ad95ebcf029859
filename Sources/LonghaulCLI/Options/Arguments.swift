public import ArgumentParser
public import Longhaul

// Values whose own text is what people type.

extension TransferID: ExpressibleByArgument {
    public init?(argument: String) {
        self.init(argument)
    }
}

extension TransferState: ExpressibleByArgument {}

extension ExistingFilePolicy: ExpressibleByArgument {}
extension DuplicatePolicy: ExpressibleByArgument {}
