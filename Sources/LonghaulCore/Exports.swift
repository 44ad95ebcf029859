@_exported public import LonghaulModel
